"""Images that the repository builds: which Dockerfile builds an image, which files it has, and what a container of it starts."""
