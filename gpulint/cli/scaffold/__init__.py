"""What `gpulint init` and `gpulint rule new` write."""
