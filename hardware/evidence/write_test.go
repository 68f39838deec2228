package evidence_test

import (
	"fmt"
	"testing"

	"locklab/hardware/evidence"
	"locklab/internal/require"
)

func ExampleText() {
	fmt.Print(evidence.Text([]evidence.Listing{{
		Name: "lock-cmpxchg", Operation: "Swap32", Source: "locklab/atomics.asmSwap32",
		Lines: []evidence.Line{
			{Offset: 0x00, Bytes: []byte{0x48, 0x8b, 0x5c, 0x24, 0x08}, Text: "MOVQ 0x8(SP), BX"},
			{Offset: 0x05, Bytes: []byte{0x87, 0x0b}, Text: "XCHGL CX, 0(BX)", Atomic: true, Note: "locked without a prefix"},
			{Offset: 0x07, Bytes: []byte{0xc3}, Text: "RET"},
		},
	}}))
	// Output:
	// lock-cmpxchg Swap32: locklab/atomics.asmSwap32
	//    0000  488b5c2408  MOVQ 0x8(SP), BX
	// -> 0005  870b        XCHGL CX, 0(BX)  ; locked without a prefix
	//    0007  c3          RET
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		ls   []evidence.Listing
		want string
	}{
		{nil, ""},
		{[]evidence.Listing{{Name: "a", Operation: "b", Source: "c"}, {Name: "d", Operation: "e", Source: "f"}}, "a b: c\n\nd e: f\n"},
	} {
		require.Equal(t, "text", evidence.Text(c.ls), c.want)
	}
}
