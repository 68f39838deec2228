package evidence

import "testing"

// The words are the output of Go's assembler.
func TestLSE(t *testing.T) {
	for _, c := range []struct {
		word uint32
		want string
	}{
		{0x88e0fc41, "CASALW R0, (R2), R1"},
		{0x88e3fc02, "CASALW R3, (R0), R2"},
		{0xc8e3fc02, "CASALD R3, (R0), R2"},
		{0xc8fbfc02, "CASALD R27, (R0), R2"},
		{0x88a07c41, "CASW R0, (R2), R1"},
		{0x88e07c41, "CASAW R0, (R2), R1"},
		{0x88a0fc41, "CASLW R0, (R2), R1"},
		{0x08e0fc41, "CASALB R0, (R2), R1"},
		{0x48e0fc41, "CASALH R0, (R2), R1"},
		{0xb8e28003, "SWPALW R2, (R0), R3"},
		{0xf8e28003, "SWPALD R2, (R0), R3"},
		{0xf8a28003, "SWPAD R2, (R0), R3"},
		{0xf8628003, "SWPLD R2, (R0), R3"},
		{0xb8e20003, "LDADDALW R2, (R0), R3"},
		{0xf8e20003, "LDADDALD R2, (R0), R3"},
		{0xf8221003, "LDCLRD R2, (R0), R3"},
		{0xf8e22003, "LDEORALD R2, (R0), R3"},
		{0xf8e23003, "LDORALD R2, (R0), R3"},
		{0xf83f03ff, "LDADDD ZR, (RSP), ZR"},

		{0x885ffc03, ""}, // LDAXRW (R0), R3
		{0x8804fc02, ""}, // STLXRW R2, (R0), R4
		{0x889ffc02, ""}, // STLRW R2, (R0)
		{0x48207c82, ""}, // CASPD: a pair
		{0xf8e24003, ""}, // LDSMAXALD: a maximum; unused by the locks here
		{0xd65f03c0, ""}, // RET
		{0, ""},
	} {
		if got := lse(c.word); got != c.want {
			t.Errorf("%#08x is %q, want %q", c.word, got, c.want)
		}
	}
}
