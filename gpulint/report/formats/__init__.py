"""Reports: one module an output format, each with `render(report) -> str`."""
