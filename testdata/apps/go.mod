module example.com/apps

go 1.26.0

require github.com/etgo-ml/etgo v0.0.0

require (
	github.com/google/flatbuffers v25.12.19+incompatible // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/etgo-ml/etgo => ../..
