// Anderson 1990.
package forgotten

import "locklab/harness"

var Suite = []*harness.Variant{tas}

var (
	tas  = &harness.Variant{Name: "tas"}
	ttas = &harness.Variant{Name: "ttas"}
	made = variant()
)

func variant() *harness.Variant { return &harness.Variant{Name: "inline"} }
