package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// helpOf returns the output of a command line, which must succeed.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	root := program().command()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out.String()
}

// commandsOf returns the command lines of root and all its subcommands.
func commandsOf(root *cobra.Command) (out [][]string) {
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		out = append(out, strings.Fields(c.CommandPath())[1:])
		if c != root {
			for _, below := range c.Commands() {
				out = append(out, strings.Fields(below.CommandPath())[1:])
			}
		}
	}
	return out
}

// TestHelpFitsAScreen: --help of each command has at most 50 lines of 140 columns, in the
// order usage, flags, examples. 'help COMMAND' explains the omitted flags.
func TestHelpFitsAScreen(t *testing.T) {
	for _, args := range commandsOf(program().command()) {
		text := helpOf(t, append(slices.Clone(args), "--help")...)
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if len(lines) > 50 {
			t.Errorf("help of %q has %d lines", args, len(lines))
		}
		for _, line := range lines {
			if len(line) > 140 {
				t.Errorf("help of %q has the line %q", args, line)
			}
		}
		usage, flags, examples := strings.Index(text, "\nUsage: "), strings.Index(text, "\nFlags:"), strings.Index(text, "\nExamples:")
		if usage < 0 || flags < usage || examples >= 0 && examples < flags {
			t.Errorf("help of %q has no usage, flags and examples in this order", args)
		}
	}
	full := helpOf(t, "help", "run")
	for _, flag := range []string{"--gomaxprocs", "--locks", "--assemble"} {
		if !strings.Contains(full, flag) {
			t.Errorf("help run lacks %s", flag)
		}
	}
}

// TestHints: a mistyped name leads to the right one.
func TestHints(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"rum"}, "(did you mean run?)"},
		{[]string{"help", "comparee"}, "(did you mean compare?)"},
		{[]string{"run", "--lokcs", "mcs"}, "(did you mean --locks?)"},
		{[]string{"list", "spin-than-park"}, "(did you mean spin-then-park?)"},
		{[]string{"hardware", "lost-update"}, "(did you mean lost-updates?)"},
		{[]string{"chaos", "--scenario", "holder-puase"}, "(did you mean holder-pause?)"},
		{[]string{"compare", "a", "b", "--metric", "througput"}, "(did you mean throughput?)"},
		{[]string{"run", "--xyzxyzxyz"}, ""},
	} {
		root := program().command()
		root.SetArgs(c.args)
		err := root.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) || c.want == "" && strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%q: %v, want %s", c.args, err, c.want)
		}
	}
}

// TestCompletion: the shell completes names of locks (also after others), scenarios and
// metrics.
func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--locks", ""}, "spin-then-park\n"},
		{[]string{"run", "--locks", "mcs,-"}, "mcs,-spin-then-park\n"},
		{[]string{"chaos", "--scenario", ""}, "holder-pause\n"},
		{[]string{"compare", "--metric", ""}, "throughput\n"},
		{[]string{""}, "simulate\t"},
	} {
		if text := helpOf(t, append([]string{cobra.ShellCompRequestCmd}, c.args...)...); !strings.Contains("\n"+text, "\n"+c.want) {
			t.Errorf("%q completes to %q", c.args, text)
		}
	}
}

// TestVersionAndMan: the version contains its commit, and each command has a manual page.
func TestVersionAndMan(t *testing.T) {
	if text := helpOf(t, "version"); !strings.HasPrefix(text, "locklab 0.0.0 (commit ") || !strings.Contains(helpOf(t, "--version"), "0.0.0 (commit ") {
		t.Errorf("version prints %q", text)
	}
	dir := filepath.Join(t.TempDir(), "man")
	helpOf(t, "man", dir)
	for _, name := range []string{"locklab.1", "locklab-run.1", "locklab-chaos-list.1"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Contains(text, []byte(".SH OPTIONS")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
