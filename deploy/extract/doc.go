// Extract writes the schemas in deploy/testdata by which the tests of package deploy
// judge manifests. It takes them from modules that carry what Kubernetes and the Compose
// Specification publish, and leaves out what no manifest here is about, and all
// descriptions:
//
//	go run ./deploy/extract
//
// It fetches the modules by the go command (Kubernetes has 60 MB), whose checksum database
// vouches for them, and compares their sums with those that it expects. What it writes says
// where it is from. The modules are under the Apache License 2.0.
//
// Rank 0.
package main
