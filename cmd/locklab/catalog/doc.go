// Package catalog is the one place that lists every lock family.
//
// Rank 5. It imports the families and nothing that measures or draws.
package catalog
