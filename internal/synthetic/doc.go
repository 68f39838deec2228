// Package synthetic generates runs, for tests of the conclusions and charts of a run. Its
// figures are never published.
//
// Rank 3. Only tests import it.
package synthetic
