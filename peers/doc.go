// Package peers drives locks that nobody here wrote, unmodified, for
// comparison. Each file adapts one to the contract of package harness and says
// what the adapter adds.
//
// Rank 2. It imports harness, internal/wire, internal/lease and the libraries
// it compares, and must never import another family, a runner or a report.
package peers
