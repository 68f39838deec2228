// Package catalog is the one place that knows every lock family.
//
// Rank 5. It imports the families and nothing that measures or draws.
package catalog
