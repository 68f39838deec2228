// Thomas E. Anderson, TPDS 1(1), January
// 1990.
package complete

import "locklab/harness"

var tas = &harness.Variant{Name: "tas", Paper: "Anderson 1990"}
