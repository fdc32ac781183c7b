"""What a run keeps on disk: trials as tools finish, wire logs, before and after content, the report."""
