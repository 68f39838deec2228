package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
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

func requireNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, file string) string {
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
		if err := m.check(text(t, m.file)); err != nil {
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
		was := text(t, c.m.file)
		if err := c.m.check(strings.Replace(was, c.old, c.new, 1)); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(was, c.old) {
			t.Errorf("%s with %q: got %v, want an error with %q", c.m.file, c.new, err, c.want)
		}
	}
}

// TestRanksOfManifests: numbers agree, results leave the pod, and no rank restarts alone.
func TestRanksOfManifests(t *testing.T) {
	job, compose := text(t, all[0].file), text(t, all[3].file)
	ranks := regexp.MustCompile(`LOCKLAB_RANKS: "(\d+)"`).FindStringSubmatch(text(t, all[2].file))
	if ranks == nil {
		t.Fatal("the ConfigMap has no LOCKLAB_RANKS")
	}
	for _, want := range []string{"completions: " + ranks[1], "parallelism: " + ranks[1], "completionMode: Indexed", "backoffLimit: 0", "restartPolicy: Never"} {
		if !strings.Contains(job, want) {
			t.Errorf("job.yaml lacks %q", want)
		}
	}
	if strings.Count(job, "- name: results") != 3 || !strings.Contains(text(t, all[1].file), "clusterIP: None") {
		t.Error("no volume has the results, or the Service is not headless")
	}
	commands := regexp.MustCompile(`--rank (\d+) --ranks (\d+) (.*) --out /results/rank-(\d+)`).FindAllStringSubmatch(compose, -1)
	for i, m := range commands {
		if m[1] != fmt.Sprint(i) || m[4] != m[1] || m[2] != fmt.Sprint(len(commands)) || m[3] != commands[0][3] {
			t.Errorf("compose.yaml: rank %d of %d runs %q", i, len(commands), m[0])
		}
	}
	if len(commands) < 2 {
		t.Error("compose.yaml has no ranks")
	}
}

func TestArguments(t *testing.T) {
	env := map[string]string{"JOB_COMPLETION_INDEX": "0"}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): "?([^"\n]*)"?$`).FindAllStringSubmatch(text(t, all[2].file), -1) {
		env[m[1]] = m[2]
	}
	var job struct {
		Spec struct {
			Template struct {
				Spec struct {
					InitContainers []struct{ Args []string } `yaml:"initContainers"`
				}
			}
		}
	}
	var compose struct {
		Services map[string]struct{ Command string }
	}
	requireNoError(t, errors.Join(yaml.Unmarshal([]byte(text(t, all[0].file)), &job), yaml.Unmarshal([]byte(text(t, all[3].file)), &compose)))
	var pod []string
	for _, arg := range job.Spec.Template.Spec.InitContainers[0].Args {
		pod = append(pod, regexp.MustCompile(`\$\((\w+)\)`).ReplaceAllStringFunc(arg, func(v string) string { return env[strings.Trim(v, "$()")] }))
	}
	for _, args := range [][]string{pod, strings.Fields(compose.Services["rank-0"].Command), strings.Fields(compose.Services["merge"].Command)} {
		if len(args) < 4 {
			t.Errorf("the arguments are %q", args)
		}
		if err := understands(program(t), args); err != nil {
			t.Error(err)
		}
	}
	if understands(program(t), []string{"run", "--nonsense=1"}) == nil {
		t.Error("the program understands --nonsense")
	}
}

func understands(program string, args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, append(args, "--help")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("locklab %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
