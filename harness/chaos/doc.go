// Package chaos injects production failures into locks and judges the outcome.
package chaos
