package lab

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	stdout, _ := requireStatus(t, 0, args)
	return stdout
}

func allCommands(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		all = append(all, allCommands(c)...)
	}
	return all
}

// TestHelpFitsAScreen: --help has at most 50 lines of 100 columns, in order, and each of many
// flags is in one group; 'help COMMAND' has all.
func TestHelpFitsAScreen(t *testing.T) {
	for _, cmd := range allCommands(program().command(io.Discard)) {
		checkGroups(t, cmd)
		args := strings.Fields(cmd.CommandPath())[1:]
		text := helpOf(t, append(slices.Clone(args), "--help")...)
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if len(lines) > 50 {
			t.Errorf("help of %q has %d lines", args, len(lines))
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > 100 || strings.Contains(line, "…") {
				t.Errorf("help of %q has the line %q", args, line)
			}
		}
		usage, flags, examples := strings.Index(text, "\nUsage: "), strings.Index(text, "  -h, --help"), strings.Index(text, "\nExamples:")
		if usage < 0 || flags < usage || examples >= 0 && examples < flags || examples < 0 && len(args) == 1 && args[0] != "version" {
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

func checkGroups(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	cmd.InitDefaultHelpFlag()
	n, groups := 0, make(map[string]int)
	for _, g := range flagGroups() {
		for name := range strings.FieldsSeq(g.flags + " " + g.rare) {
			groups[name]++
		}
	}
	cmd.Flags().VisitAll(func(*pflag.Flag) { n++ })
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && (groups[f.Name] > 1 || groups[f.Name] == 0 && n > fewFlags) {
			t.Errorf("--%s of %s is in %d groups", f.Name, cmd.CommandPath(), groups[f.Name])
		}
	})
}

func TestHints(t *testing.T) {
	requireRefusals(t, "", []refusal{
		{"rum", "(did you mean run?)"},
		{"rnu", "(did you mean run?)"},
		{"hardware cots", "(did you mean cost?)"},
		{"compare a b --metric thruput", "(did you mean throughput?)"},
		{"export a -f cvs", "(did you mean csv?): want one of"},
		{"simulate --machine skylake-8x3", "(did you mean skylake-8x32?): choose of"},
		{"report a --require failovr", "(did you mean failover?); there are"},
		{"env --accept gest", "(did you mean guest?); there are"},
		{"help comparee", "(did you mean compare?)"},
		{"run --lokcs mcs", "(did you mean --locks?)"},
		{"list spin-than-park", "(did you mean spin-then-park?)"},
		{"hardware lost-update", "(did you mean lost-updates?)"},
		{"chaos --scenario holder-puase", "(did you mean holder-pause?)"},
		{"compare a b --metric througput", "(did you mean throughput?)"},
		{"completion bas", "(did you mean bash?)"},
		{"run --xyzxyzxyz", "unknown flag: --xyzxyzxyz; see"},
	})
}

// TestFullOutput writes to a closed pipe. Each command must fail with one line.
func TestFullOutput(t *testing.T) {
	for _, args := range []string{"--help", "help run", "run --help", "chaos list -v", "list", "schema", "completion bash"} {
		reader, writer := io.Pipe()
		reader.Close()
		var stderr bytes.Buffer
		status := program().execute(t.Context(), strings.Fields(args), writer, &stderr)
		if want := "locklab: cannot write the output: io: read/write on closed pipe\n"; status != exitUsage || stderr.String() != want {
			t.Errorf("%s: status %d, wrote %q", args, status, stderr.String())
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--locks", ""}, "spin-then-park\n"},
		{[]string{"run", "--locks", "mcs,-"}, "mcs,-spin-then-park\n"},
		{[]string{"chaos", "--scenario", ""}, "holder-pause\n"},
		{[]string{"compare", "--metric", ""}, "throughput\n"},
		{[]string{"trace", "zk-f"}, "zk-fair\n"},
		{[]string{"list", "zk-f"}, "zk-fair\n"},
		{[]string{"chaos", "list", ""}, "holder-pause\n"},
		{[]string{"compare", "--to", "mc"}, "mcs\n"},
		{[]string{"history", "--to", "mc"}, "mcs\n"},
		{[]string{"report", "--require", "fa"}, "failover\n"},
		{[]string{"simulate", "--machine", ""}, "naples-32\n"},
		{[]string{"export", "--format", ""}, "csv\n"},
		{[]string{"env", "--accept", ""}, "guest\n"},
		{[]string{""}, "simulate\t"},
	} {
		if text := helpOf(t, append([]string{cobra.ShellCompRequestCmd}, c.args...)...); !strings.Contains("\n"+text, "\n"+c.want) {
			t.Errorf("%q completes to %q", c.args, text)
		}
	}
}

func TestVersionAndMan(t *testing.T) {
	if text := helpOf(t, "version"); !strings.HasPrefix(text, "locklab version 0.0.0 (commit ") || text != helpOf(t, "--version") {
		t.Errorf("version prints %q", text)
	}
	dir := filepath.Join(t.TempDir(), "man")
	helpOf(t, "man", dir)
	for _, name := range []string{"locklab.1", "locklab-run.1", "locklab-chaos-list.1"} {
		if text := readFile(t, filepath.Join(dir, name)); !strings.Contains(text, ".SH OPTIONS") {
			t.Errorf("%s has no options", name)
		}
	}
}
