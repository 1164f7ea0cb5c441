cluster "alps" {
  base  = catalog.cluster.dgx_h100
  nodes = 32
}

cluster "fuji" {
  base  = catalog.cluster.dgx_h200
  nodes = 16
}
