package deploy_test

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

func args(list any, env map[string]string) (all []string) {
	for _, arg := range texts(list) {
		all = append(all, variableRE.ReplaceAllStringFunc(arg, func(v string) string { return env[strings.Trim(v, "$()")] }))
	}
	return all
}

// understands runs the program with arguments and --help, which it prints if they are valid.
func understands(program string, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, append(args, "--help")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("locklab %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

func understood(t *testing.T, args []string) {
	t.Helper()
	if len(args) < 4 || args[0] != "run" {
		t.Fatalf("the arguments are %q", args)
	}
	if err := understands(program(t), args); err != nil {
		t.Error(err)
	}
}

func TestKubernetesArguments(t *testing.T) {
	texts := manifests(t)
	decoded := func(name string) map[string]any {
		docs, err := decode([]byte(texts[name]))
		if err != nil {
			t.Fatal(err)
		}
		return docs[0]
	}
	job, config := decoded("job.yaml"), decoded("configmap.yaml")
	lab := at(job, "spec", "template", "spec", "initContainers", 0)
	env := environment(lab, config)
	if n, err := strconv.Atoi(env["LOCKLAB_RANKS"]); err != nil || n < 2 {
		t.Errorf("LOCKLAB_RANKS is %q", env["LOCKLAB_RANKS"])
	}
	understood(t, args(at(lab, "args"), env))
	if err := understands(program(t), []string{"run", "--nonsense=1"}); err == nil {
		t.Error("the program understands --nonsense")
	}
}

func TestComposeArguments(t *testing.T) {
	docs, err := decode([]byte(composeFile(t)))
	if err != nil {
		t.Fatal(err)
	}
	understood(t, strings.Fields(at(docs[0], "services", "rank-0", "command").(string)))
	merge := strings.Fields(at(docs[0], "services", "merge", "command").(string))
	if merge[0] != "merge" {
		t.Errorf("the service merge runs %q", merge)
	}
	if err := understands(program(t), merge); err != nil {
		t.Error(err)
	}
}
