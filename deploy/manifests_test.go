package deploy_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"locklab/internal/require"
)

// A manifest is a file with a YAML document, and its definition in the schemas.
type manifest struct {
	file       string
	schemas    []string // below testdata
	kind       string   // apiVersion and kind
	definition string   // "" is the whole schema
}

var kubernetes = []string{"kubernetes-1.29.json", "kubernetes-1.37.json"}

var all = []manifest{
	{"kubernetes/job.yaml", kubernetes, "batch/v1 Job", "#/$defs/io.k8s.api.batch.v1.Job"},
	{"kubernetes/service.yaml", kubernetes, "v1 Service", "#/$defs/io.k8s.api.core.v1.Service"},
	{"kubernetes/configmap.yaml", kubernetes, "v1 ConfigMap", "#/$defs/io.k8s.api.core.v1.ConfigMap"},
	{"compose.yaml", []string{"compose.json"}, "<nil> <nil>", ""},
}

var requireNoError = require.NoError

func readText(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	requireNoError(t, err)
	return string(b)
}

func (m manifest) check(text string) error {
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return err
	}
	if kind := fmt.Sprintf("%v %v", doc["apiVersion"], doc["kind"]); kind != m.kind || strings.Contains(text, "\n---") {
		return fmt.Errorf("it is of %s, want one document of %s", kind, m.kind)
	}
	var errs []error
	for _, name := range m.schemas {
		schema, err := jsonschema.NewCompiler().Compile("testdata/" + name + m.definition)
		if err == nil {
			err = schema.Validate(doc)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func TestManifests(t *testing.T) {
	for _, m := range all {
		if err := m.check(readText(t, m.file)); err != nil {
			t.Errorf("%s: %v", m.file, err)
		}
	}
}

func TestManifestsReject(t *testing.T) {
	for _, c := range []struct {
		m              manifest
		old, new, want string
	}{
		{all[0], "  backoffLimit: 0", "  backofLimit: 0", "backofLimit"},
		{all[0], "completions: 4", `completions: "4"`, "want integer"},
		{all[0], "completionMode: Indexed", "completionMode: indexed", "must be one of"},
		{all[0], "batch/v1", "batch/v1beta1", "want one document of batch/v1 Job"},
		{all[0], "  parallelism: 4", "  completions: 4", "already defined"},
		{all[1], "  clusterIP: None", "  completions: 4", "completions"},
		{all[2], `LOCKLAB_RANKS: "4"`, "LOCKLAB_RANKS: 4", "want string"},
		{all[3], "    healthcheck:", "    healthchek:", "healthchek"},
		{all[3], "condition: service_healthy", "condition: healthy", "must be one of"},
	} {
		was := readText(t, c.m.file)
		if err := c.m.check(strings.Replace(was, c.old, c.new, 1)); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(was, c.old) {
			t.Errorf("%s with %q: got %v, want an error with %q", c.m.file, c.new, err, c.want)
		}
	}
}

// TestRanksOfManifests: numbers agree, results leave the pod, and no rank restarts alone. The
// program understands the arguments.
func TestRanksOfManifests(t *testing.T) {
	job, compose := readText(t, all[0].file), readText(t, all[3].file)
	env := map[string]string{"JOB_COMPLETION_INDEX": "0"}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): "?([^"\s]+)`).FindAllStringSubmatch(readText(t, all[2].file), -1) {
		env[m[1]] = m[2]
	}
	ranks := env["LOCKLAB_RANKS"]
	for _, want := range []string{"completions: " + ranks, "parallelism: " + ranks, "completionMode: Indexed", "backoffLimit: 0", "restartPolicy: Never"} {
		if ranks == "" || !strings.Contains(job, want) {
			t.Errorf("job.yaml lacks %q", want)
		}
	}
	if strings.Count(job, "- name: results") != 3 || !strings.Contains(readText(t, all[1].file), "clusterIP: None") {
		t.Error("no volume has the results, or the Service is not headless")
	}
	commands := regexp.MustCompile(`command: ((?:run|merge) .*)\n`).FindAllStringSubmatch(compose, -1)
	if len(commands) < 3 {
		t.Fatalf("compose.yaml has the commands %q", commands)
	}
	first, n := commands[0][1], len(commands)-1
	for i, m := range commands[:n] {
		rank := fmt.Sprintf("run --rank %d --ranks %d ", i, n)
		if m[1] != strings.NewReplacer(fmt.Sprintf("run --rank 0 --ranks %d ", n), rank, "/rank-0", fmt.Sprint("/rank-", i)).Replace(first) || !strings.HasPrefix(m[1], rank) {
			t.Errorf("compose.yaml: rank %d of %d runs %q", i, n, m[1])
		}
	}
	args := regexp.MustCompile(`(?s) args:\n(.*?)\n +envFrom:`).FindStringSubmatch(job)
	pod := regexp.MustCompile(`\$\((\w+)\)`).ReplaceAllStringFunc(strings.ReplaceAll(args[1], "- ", ""), func(v string) string { return env[strings.Trim(v, "$()")] })
	for _, args := range []string{pod, first, commands[n][1]} {
		if err := checkArguments(buildProgram(t), strings.Fields(args)); err != nil || len(strings.Fields(args)) < 4 {
			t.Errorf("%q: %v", args, err)
		}
	}
	if checkArguments(buildProgram(t), []string{"run", "--nonsense=1"}) == nil {
		t.Error("the program understands --nonsense")
	}
}

func checkArguments(program string, args []string) error {
	out, err := exec.Command(program, append(args, "--help")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("locklab %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
