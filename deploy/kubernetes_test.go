package deploy_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var definitions = map[string]string{
	"batch/v1 Job": "io.k8s.api.batch.v1.Job",
	"v1 Service":   "io.k8s.api.core.v1.Service",
	"v1 ConfigMap": "io.k8s.api.core.v1.ConfigMap",
}

func manifests(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(names) != 3 {
		t.Fatalf("the manifests are %v, want 3 (%v)", names, err)
	}
	texts := make(map[string]string)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(name)] = string(text)
	}
	return texts
}

func judge(texts map[string]string, schemas []schema) error {
	var errs []error
	byKind := make(map[string]map[string]any)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		docs, err := decode([]byte(texts[name]))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, doc := range docs {
			kind := fmt.Sprintf("%v %v", doc["apiVersion"], doc["kind"])
			if definitions[kind] == "" {
				return fmt.Errorf("%s: no schema for %q", name, kind)
			}
			for _, s := range schemas {
				if err := s.validate(definitions[kind], doc); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", name, err))
				}
			}
			byKind[fmt.Sprint(doc["kind"])] = doc
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return errors.Join(judgeJob(byKind["Job"], byKind["ConfigMap"], byKind["Service"])...)
}

// judgeJob checks properties that a schema cannot express.
func judgeJob(job, config, service map[string]any) (errs []error) {
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	spec, pod := at(job, "spec"), at(job, "spec", "template", "spec")
	ranks := at(config, "data", "LOCKLAB_RANKS")
	for _, field := range []string{"completions", "parallelism"} {
		want(fmt.Sprint(at(spec, field)) == ranks, "%s is %v, LOCKLAB_RANKS is %v", field, at(spec, field), ranks)
	}
	want(at(spec, "completionMode") == "Indexed", "completionMode is %v: pods have no index", at(spec, "completionMode"))
	want(at(spec, "backoffLimit") == 0, "backoffLimit is %v: a rank would be started again, alone", at(spec, "backoffLimit"))
	want(at(pod, "restartPolicy") == "Never", "restartPolicy is %v: a rank would be started again, alone", at(pod, "restartPolicy"))
	want(at(service, "spec", "clusterIP") == "None", "clusterIP is %v: the Service is not headless", at(service, "spec", "clusterIP"))
	want(at(pod, "subdomain") == at(service, "metadata", "name"), "subdomain is %v, which is not the Service's name", at(pod, "subdomain"))

	labels, _ := at(spec, "template", "metadata", "labels").(map[string]any)
	selector, _ := at(service, "spec", "selector").(map[string]any)
	want(len(selector) > 0, "the Service selects nothing")
	for key, value := range selector {
		want(labels[key] == value, "the Service selects %s=%v, pods have %v", key, value, labels[key])
	}
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := at(pod, list).([]any)
		want(len(containers) == 1, "%d %s, want one", len(containers), list)
		for _, c := range containers {
			requests, limits := at(c, "resources", "requests"), at(c, "resources", "limits")
			want(at(requests, "cpu") != nil && at(requests, "memory") != nil, "%v requests %v: want cpu and memory", at(c, "name"), requests)
			want(reflect.DeepEqual(requests, limits), "%v requests %v, its limits are %v", at(c, "name"), requests, limits)
		}
	}
	return append(errs, judgeMounts(pod, config)...)
}

// judgeMounts checks how results leave the pod, and the names in containers.
func judgeMounts(pod any, config map[string]any) (errs []error) {
	lab, keeper := at(pod, "initContainers", 0), at(pod, "containers", 0)
	volumes := make(map[any]bool)
	for i := range 9 {
		volumes[at(pod, "volumes", i, "name")] = true
	}
	mounts := func(container any) map[any]any {
		paths := make(map[any]any)
		for i := range 9 {
			if name := at(container, "volumeMounts", i, "name"); name != nil {
				paths[at(container, "volumeMounts", i, "mountPath")] = name
				if !volumes[name] {
					errs = append(errs, fmt.Errorf("%v mounts %v, which is no volume", at(container, "name"), name))
				}
			}
		}
		return paths
	}
	measured, kept := mounts(lab), mounts(keeper)
	if measured["/results"] == nil || measured["/results"] != kept["/results"] {
		errs = append(errs, fmt.Errorf("results are written to %v, and kept from %v", measured["/results"], kept["/results"]))
	}
	if from := at(lab, "envFrom", 0, "configMapRef", "name"); from != at(config, "metadata", "name") {
		errs = append(errs, fmt.Errorf("the environment is from %v, which is not the ConfigMap", from))
	}
	known := environment(lab, config)
	for _, arg := range texts(at(lab, "args")) {
		for _, m := range variableRE.FindAllStringSubmatch(arg, -1) {
			if known[m[1]] == "" {
				errs = append(errs, fmt.Errorf("the argument %s has a variable that is not set", arg))
			}
		}
	}
	return errs
}

var variableRE = regexp.MustCompile(`\$\((\w+)\)`)

// environment returns the variables of a container, "?" for unknown values.
func environment(container any, config map[string]any) map[string]string {
	env := map[string]string{"JOB_COMPLETION_INDEX": "0"} // set by the Job controller
	data, _ := at(config, "data").(map[string]any)
	for name, value := range data {
		env[name] = fmt.Sprint(value)
	}
	for i := range 9 {
		if name, ok := at(container, "env", i, "name").(string); ok {
			env[name] = "?"
		}
	}
	return env
}

func TestKubernetes(t *testing.T) {
	if err := judge(manifests(t), schemas(t, "kubernetes-*", 2)); err != nil {
		t.Error(err)
	}
}

// TestKubernetesRejects: each of these manifests has one fault.
func TestKubernetesRejects(t *testing.T) {
	all := schemas(t, "kubernetes-*", 2)
	for name, c := range map[string]struct {
		file, old, new string
		want           string // in the error
	}{
		"unknown field":        {"job.yaml", "  backoffLimit: 0", "  backofLimit: 0", "backofLimit"},
		"unknown field, deep":  {"job.yaml", "allowPrivilegeEscalation", "allowPrivilegeEscalatoin", "allowPrivilegeEscalatoin"},
		"field of another":     {"service.yaml", "  clusterIP: None", "  completions: 4", "completions"},
		"wrong type":           {"job.yaml", "completions: 4", `completions: "4"`, "want integer"},
		"number, not text":     {"configmap.yaml", `LOCKLAB_RANKS: "4"`, "LOCKLAB_RANKS: 4", "want string"},
		"list, not one":        {"job.yaml", "drop: [ALL]", "drop: ALL", "want array"},
		"missing required":     {"job.yaml", "topologyKey: kubernetes.io/hostname", "minDomains: 1", "topologyKey"},
		"no template":          {"job.yaml", "  template:\n", "  tmplate:\n", "missing property 'template'"},
		"wrong enumeration":    {"job.yaml", "completionMode: Indexed", "completionMode: indexed", "must be one of"},
		"wrong enumeration, 2": {"job.yaml", "whenUnsatisfiable: ScheduleAnyway", "whenUnsatisfiable: Anyway", "must be one of"},
		"wrong enumeration, 3": {"job.yaml", "restartPolicy: Never", "restartPolicy: No", "must be one of"},
		"wrong group":          {"job.yaml", "batch/v1", "batch/v1beta1", "no schema"},
		"twice":                {"job.yaml", "  parallelism: 4", "  completions: 4", "already defined"},
		"no YAML":              {"job.yaml", "metadata:\n", "metadata: [\n", "yaml"},

		"too few at once":    {"job.yaml", "parallelism: 4", "parallelism: 2", "parallelism is 2"},
		"ranks":              {"configmap.yaml", `LOCKLAB_RANKS: "4"`, `LOCKLAB_RANKS: "5"`, "LOCKLAB_RANKS is 5"},
		"no index":           {"job.yaml", "completionMode: Indexed", "completionMode: NonIndexed", "no index"},
		"restarted":          {"job.yaml", "restartPolicy: Never", "restartPolicy: OnFailure", "restartPolicy is OnFailure"},
		"tried again":        {"job.yaml", "backoffLimit: 0", "backoffLimit: 6", "backoffLimit is 6"},
		"tried, by default":  {"job.yaml", "  backoffLimit: 0", "  suspend: false", "backoffLimit is"},
		"no headless":        {"service.yaml", "  clusterIP: None", "  type: ClusterIP", "headless"},
		"selects others":     {"service.yaml", "  selector:\n    app.kubernetes.io/name: locklab", "  selector:\n    app: locklab", "selects app=locklab"},
		"selects nothing":    {"service.yaml", "  selector:\n    app.kubernetes.io/name: locklab", "  sessionAffinity: None", "selects nothing"},
		"more than requests": {"job.yaml", "limits:\n              cpu: \"2\"", "limits:\n              cpu: \"4\"", "its limits are"},
		"no memory":          {"job.yaml", "              memory: 1Gi\n            limits", "            limits", "want cpu and memory"},
		"results stay":       {"job.yaml", "mountPath: /results", "mountPath: /elsewhere", "results are written to"},
		"no such volume":     {"job.yaml", "        - name: tmp\n          emptyDir", "        - name: temp\n          emptyDir", "no volume"},
		"other ConfigMap":    {"configmap.yaml", "  name: locklab\n", "  name: settings\n", "not the ConfigMap"},
		"no such variable":   {"configmap.yaml", "SYNC:", "MEET:", "$(SYNC)"},
	} {
		t.Run(name, func(t *testing.T) {
			texts := manifests(t)
			if !strings.Contains(texts[c.file], c.old) {
				t.Fatalf("%s has no %q", c.file, c.old)
			}
			texts[c.file] = strings.Replace(texts[c.file], c.old, c.new, 1)
			if err := judge(texts, all); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
