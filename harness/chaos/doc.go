// Package chaos injects production failures into locks and judges the outcome.
//
// Rank 5. It must not import a lock or a chart.
package chaos
