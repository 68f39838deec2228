// Package catalog is the one place that lists every lock family.
package catalog
