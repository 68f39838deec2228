// Extract writes the schemas in deploy/testdata, which the tests of package deploy use to check
// manifests. It extracts them from modules with the publications of Kubernetes and the Compose
// Specification, without unused definitions and without descriptions:
//
//	go run ./deploy/extract
//
// It fetches the modules by the go command (Kubernetes has 60 MB), whose checksum database
// verifies them, and compares their sums with the expected ones. Its output names its sources.
// The modules are under the Apache License 2.0.
package main
