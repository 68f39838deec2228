package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// asides are go commands for arguments without tests; a list with export data only compiles.
var asides = map[string][]string{
	"vet":     {"vet"},
	"compile": {"list", "-export", "-test", "-f="},
}

func aside(args string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(args), " ")
	return asides[first] != nil
}

func (t *tally) aside(args string) error {
	out, err := asideCommand(args).CombinedOutput()
	if err != nil {
		t.show(strings.TrimSpace(fmt.Sprintf("%s: %v\n%s", args, err, out)))
	}
	return err
}

func asideCommand(args string) *exec.Cmd {
	words := strings.Fields(args)
	does, words := asides[words[0]], words[1:]
	goes := []string{does[0]}
	if len(words) > 1 && words[0] == "-C" { // selects another module; must come first
		goes, words = append(goes, words[:2]...), words[2:]
	}
	goes = append(goes, does[1:]...)
	env := append(os.Environ(), "GOGC=400") // a fifth less processor time
	for _, w := range words {
		if name, _, set := strings.Cut(w, "="); set && name == strings.ToUpper(name) {
			env = append(env, w)
			continue
		}
		goes = append(goes, w)
	}
	name := "go"
	if nice, err := exec.LookPath("nice"); err == nil {
		name, goes = nice, append([]string{"-n", "19", "go"}, goes...)
	}
	cmd := exec.Command(name, goes...)
	cmd.Env = env
	return cmd
}
