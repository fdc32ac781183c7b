"""What a step did: changes of files, read by meaning and joined with everything else the instruments saw, as effects."""
