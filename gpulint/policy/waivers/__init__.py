"""What a team accepts: comments, annotations and the baseline."""
