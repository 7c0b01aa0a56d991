"""GPU samples: asks the NVIDIA driver once a second and sends what it answered as OTLP metrics.

Takes a driver (`binding.Binding`: the real one is `nvml.NvmlBinding`) and a clock. Hands on metrics named
`taximeter.gpu.<metric>` with the keys of `warehouse.rows.GPU_METRICS`. What a card does not tell has no
point: no reading is ever turned into a zero, and one lost card never hides the others.
"""
