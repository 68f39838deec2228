// Thomas E. Anderson wrote about this lock.
package uncited

import "locklab/harness"

var Suite = []*harness.Variant{tas}

var tas = &harness.Variant{Name: "tas"}
