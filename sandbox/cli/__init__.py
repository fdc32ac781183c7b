"""The command line: thin doors to the rooms below. Nothing heavy is imported until a command runs."""
