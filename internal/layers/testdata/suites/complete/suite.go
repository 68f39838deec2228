package complete

import "locklab/harness"

var Suite = []*harness.Variant{tas, made}
