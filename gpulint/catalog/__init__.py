"""The catalog: tables of accelerators, nodes, links, architectures and prices, and what reads each of them."""
