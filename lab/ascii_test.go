package lab

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
)

func TestNeedsASCII(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"LANG": "C"}, true},
		{map[string]string{"LANG": "de_DE.ISO-8859-1"}, true},
		{map[string]string{"LANG": "de_DE.UTF-8"}, false},
		{map[string]string{"LANG": "C.utf8"}, false},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_ALL": "POSIX"}, true},
		{map[string]string{"LANG": "C", "LC_CTYPE": "C.UTF-8"}, false},
		{map[string]string{"LANG": "C", "LC_ALL": "C.UTF-8"}, false},
		{map[string]string{"LANG": "en_US.UTF-8", "TERM": "linux"}, true},
	} {
		if got := needsASCII(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
}

// TestReadable: a terminal without UTF-8 gets ASCII for any writes; files and data do not.
func TestReadable(t *testing.T) {
	const text, plain = "4.0×–4.2 µs ±5 % ≤ 8…\n█ 𝄞", "4.0x-4.2 us ~5 % <= 8~\n# ?"
	none := func(string) string { return "C" }
	regular, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer regular.Close()
	if out := readable(regular, none); out != file(regular) {
		t.Error("what goes to a file is changed")
	}
	for format, want := range map[string]string{"text": plain, "json": text} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := &cobra.Command{}
		cmd.Flags().String("format", format, "")
		cmd.SetOut(readable(w, none))
		exact(cmd)
		for _, b := range []byte(text) {
			if n, err := cmd.OutOrStdout().Write([]byte{b}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		w.Close()
		if got, err := io.ReadAll(r); string(got) != want || err != nil {
			t.Errorf("%s: got %q, want %q (%v)", format, got, want, err)
		}
	}
}
