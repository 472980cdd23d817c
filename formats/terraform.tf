# main.tf
resource "google_container_node_pool" "l4" {
  name    = "l4"
  cluster = google_container_cluster.main.name

  node_config {
    machine_type = "g2-standard-24"
    guest_accelerator {
      type  = "nvidia-l4"
      count = 2
    }
  }
}
