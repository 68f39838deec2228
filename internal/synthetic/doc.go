// Package synthetic generates runs, for tests of the conclusions and charts of a run. Its
// figures are never published.
package synthetic
