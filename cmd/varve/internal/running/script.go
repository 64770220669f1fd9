// SPDX-License-Identifier: Apache-2.0

package running

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/cmd/varve/internal/cost"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
)

// script is what scripts are made of.
type script struct {
	Plan   string
	Tasks  int // jobs of an array
	Arrays []jobArray
	Memory int64 // of a job, in MiB
	Image  string
	ID     string // in the names of jobs
}

// jobArray is an array of jobs, which begins after the one before has ended.
type jobArray struct {
	Name string   // "0" for the first stage
	Args []string // of varve run, after the plan
}

// arrays returns the arrays that execute a plan: one for each stage, or a single one
// whose jobs take tasks of all stages.
func (r *running) arrays(stages int) (list []jobArray) {
	if r.take > 0 {
		return []jobArray{{"all", []string{"--take", strconv.FormatInt(r.take, 10), "--lease", r.lease.String()}}}
	}
	task := fmt.Sprintf("auto/%d", r.tasks)
	if r.script == "aws-batch" && r.tasks == 1 { // it has no arrays of one job
		task = "0/1"
	}
	for k := range stages {
		list = append(list, jobArray{strconv.Itoa(k), []string{"--stage", strconv.Itoa(k), "--task", task}})
	}
	return list
}

// writeScript writes a script that executes a plan as array jobs of a scheduler.
func (r *running) writeScript(w io.Writer, name string, plan *job.Plan) error {
	text, known := scripts[r.script]
	switch {
	case !known:
		return failure.BadUsage("--script %s: want slurm, kubernetes or aws-batch", r.script)
	case plan.Group != "":
		return failure.BadArgument("%s: its arrays change in one transaction, which one process executes: varve run %s", name, phrase.Word(name))
	case name == "-":
		return failure.BadUsage("the jobs of a script read the plan: give a file or a location, not standard input")
	case r.exact || r.singleWriter:
		return failure.BadUsage("--exact and --single-writer are not in a script: add them to its commands")
	case strings.ContainsAny(planfile.Absolute(name), "\n\r"):
		return failure.BadUsage("a name with a line break cannot be in a script")
	case r.tasks < 1:
		return failure.BadUsage("--tasks %d: want at least 1", r.tasks)
	case r.script == "aws-batch" && r.tasks > mostBatch:
		return failure.BadUsage("--tasks %d: an array of AWS Batch has at most %s", r.tasks, quantity.Count(mostBatch, "jobs"))
	case r.script == "kubernetes" && r.image == "":
		return failure.BadUsage("--script kubernetes needs --image, a container image with varve")
	}
	s := script{Plan: planfile.Absolute(name), Tasks: r.tasks, Image: r.image}
	var err error
	if s.ID, err = s.id(plan, r.take); err != nil {
		return err
	}
	s.Arrays = r.arrays(plan.Stages())
	memory := max(cost.Least, plan.PeakMemory())
	for _, p := range plan.Arrays {
		if p.Target != nil && own.IsArchive(*p.Target) {
			return failure.BadArgument("%s: a zip archive is written by one process: varve run %s", *p.Target, phrase.Word(name))
		}
	}
	s.Memory = (memory+2*cost.Overhead)>>20 + 1
	return s.write(w, text)
}

// mostBatch is the largest size of an array job of AWS Batch.
const mostBatch = 10_000

// id returns a short name of the jobs, in letters that every scheduler permits. Jobs of
// another plan, image or number have another one.
func (s script) id(plan *job.Plan, take int64) (string, error) {
	raw, err := json.Marshal(plan)
	sum := sha256.Sum256(fmt.Appendf(raw, "%d %d %s", s.Tasks, take, s.Image))
	return hex.EncodeToString(sum[:4]), err
}

// schedule is the text of a script for a scheduler. The part array is written once for
// each array of jobs. Names in double braces stand for values.
type schedule struct{ head, array, tail string }

// scripts are the texts by the name of the scheduler.
//
// Package text/template is not used: a program that links it keeps every exported method
// of every type, which makes the command larger by a tenth.
var scripts = map[string]schedule{
	"slurm": {slurmHead, slurmArray, slurmTail}, "kubernetes": {kubernetesHead, kubernetesArray, kubernetesTail}, "aws-batch": {batchHead, batchArray, batchTail},
}

// write writes a script. It returns an error if a value has no JSON.
func (s script) write(w io.Writer, text schedule) error {
	image, err := jsonText(s.Image)
	if err != nil {
		return err
	}
	plan, err := jsonText(s.literal())
	if err != nil {
		return err
	}
	publication, err := s.overrides([]string{"--publish", "--ended"})
	if err != nil {
		return err
	}
	all := []string{
		"{{plan}}", s.Plan, "{{word}}", phrase.Word(s.Plan), "{{literal}}", plan, "{{image}}", image, "{{id}}", s.ID, "{{way}}", s.way(),
		"{{tasks}}", strconv.Itoa(s.Tasks), "{{last}}", strconv.Itoa(s.Tasks - 1), "{{memory}}", strconv.FormatInt(s.Memory, 10),
		"{{after}}", s.after(), "{{publication}}", publication,
	}
	values := strings.NewReplacer(all...)
	if _, err := values.WriteString(w, text.head); err != nil {
		return err
	}
	for _, a := range s.Arrays {
		own, err := s.valuesOf(a)
		if err != nil {
			return err
		}
		if _, err := strings.NewReplacer(append(own, all...)...).WriteString(w, text.array); err != nil {
			return err
		}
	}
	_, err = values.WriteString(w, text.tail)
	return err
}

// valuesOf returns the values of one array.
func (s script) valuesOf(a jobArray) ([]string, error) {
	list, size := "", ""
	for _, arg := range a.Args {
		text, err := jsonText(arg)
		if err != nil {
			return nil, err
		}
		list += ", " + text
	}
	if s.Tasks > 1 {
		size = fmt.Sprintf("--array-properties size=%d ", s.Tasks)
	}
	overrides, err := s.overrides(a.Args)
	return []string{
		"{{name}}", a.Name, "{{title}}", a.title(), "{{args}}", strings.Join(a.Args, " "), "{{list}}", list, "{{size}}", size, "{{overrides}}", overrides,
	}, err
}

// jsonText returns a value as JSON, which is also YAML.
func jsonText(v any) (string, error) {
	raw, err := json.Marshal(v)
	return string(raw), err
}

// The script for Slurm submits the arrays. Slurm starts a job that fails no second time,
// so each makes three attempts.
const (
	slurmHead = `#!/bin/sh
# Executes {{plan}} on Slurm: {{way}}, and then the publication.
# What is done is not done again, so this script may be run again after a failure.
set -eu
after=
`
	slurmArray = `
job=$(sbatch --parsable --job-name=varve-{{id}}-{{name}} --array=0-{{last}} --mem={{memory}}M ${after:+"--dependency=afterok:$after" --kill-on-invalid-dep=yes} <<'END'
#!/bin/sh
for attempt in 1 2 3; do
	varve run {{word}} {{args}} && exit
	sleep 10
done
exit 1
END
)
echo "{{title}}: job $job"
after=${job%%;*} # without the name of a cluster
`
	slurmTail = `
job=$(sbatch --parsable --job-name=varve-{{id}}-publish --mem={{memory}}M ${after:+"--dependency={{after}}:$after" --kill-on-invalid-dep=yes} <<'END'
#!/bin/sh
for attempt in 1 2 3; do
	varve run {{word}} --publish --ended && exit
	sleep 10
done
exit 1
END
)
echo "publication: job $job"
`
)

// The script for Kubernetes applies an indexed Job for each array, and waits for it.
const (
	kubernetesHead = `#!/bin/sh
# Executes {{plan}} on Kubernetes: {{way}}, and then the publication.
# The containers must be able to read the plan, and what it names. This script may be
# run again: it continues with the Jobs that there are.
set -eu

# await JOB waits for the end of a Job.
await() {
	while :; do
		conditions=$(kubectl get job "$1" -o 'jsonpath={.status.conditions[?(@.status=="True")].type}')
		case $conditions in
		*Complete*) return ;;
		*Failed*)
			echo "$1 has failed: see kubectl describe job $1; once it is deleted, this script tries again" >&2
			exit 1
			;;
		esac
		sleep 5
	done
}
`
	kubernetesArray = `
kubectl apply -f - <<'END'
apiVersion: batch/v1
kind: Job
metadata:
  name: varve-{{id}}-{{name}}
spec:
  completionMode: Indexed
  completions: {{tasks}}
  parallelism: {{tasks}}
  backoffLimitPerIndex: 3
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: varve
        image: {{image}}
        command: [varve, run, {{literal}}{{list}}]
        resources:
          requests: {cpu: "1", memory: {{memory}}Mi}
          limits: {memory: {{memory}}Mi}
END
await varve-{{id}}-{{name}}
`
	kubernetesTail = `
kubectl apply -f - <<'END'
apiVersion: batch/v1
kind: Job
metadata:
  name: varve-{{id}}-publish
spec:
  backoffLimit: 3
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: varve
        image: {{image}}
        command: [varve, run, {{literal}}, --publish, --ended]
        resources:
          requests: {cpu: "1", memory: {{memory}}Mi}
          limits: {memory: {{memory}}Mi}
END
await varve-{{id}}-publish
`
)

// The script for AWS Batch submits the arrays. It has no arrays of one job.
const (
	batchHead = `#!/bin/sh
# Executes {{plan}} on AWS Batch: {{way}}, and then the publication.
# The entry point of the container of the job definition is varve, and it can read the
# plan and what that names. What is done is not done again, so this script may be run
# again after a failure.
set -eu
queue=${QUEUE:?the name of a job queue}
definition=${DEFINITION:?the name of a job definition whose container runs varve}

# submit NAME OPTION... submits a job, and prints its ID.
submit() {
	name=$1
	shift
	aws batch submit-job --query jobId --output text --job-name "varve-{{id}}-$name" --job-queue "$queue" --job-definition "$definition" \
		--retry-strategy attempts=3 ${job:+--depends-on "jobId=$job"} "$@"
}
job=
`
	batchArray = `
job=$(submit {{name}} {{size}}--container-overrides {{overrides}})
echo "{{title}}: job $job"
`
	batchTail = `
job=$(submit publish --container-overrides {{publication}})
echo "publication: job $job"
`
)

// literal returns the plan as Kubernetes takes it literally: it expands $(NAME), and $$
// is a dollar sign.
func (s script) literal() string { return strings.ReplaceAll(s.Plan, "$", "$$") }

// after is when the publication begins on Slurm. Jobs that take tasks do those of others
// that were killed, and the publication finds out whether all are done.
func (s script) after() string {
	if len(s.Arrays) > 0 && s.Arrays[0].Name == "all" {
		return "afterany"
	}
	return "afterok"
}

// way says how the plan is executed.
func (s script) way() string {
	if len(s.Arrays) > 0 && s.Arrays[0].Name == "all" {
		return fmt.Sprintf("%s, each of which takes tasks until all are done", phrase.Plural(int64(s.Tasks), "job"))
	}
	return fmt.Sprintf("an array of %s for each stage, each stage after the one before", phrase.Plural(int64(s.Tasks), "job"))
}

// title names an array in what the script prints.
func (a jobArray) title() string {
	if a.Name == "all" {
		return "tasks"
	}
	return "stage " + a.Name
}

// overrides returns the properties of a container of AWS Batch that runs varve run, as a
// word of a shell.
func (s script) overrides(args []string) (string, error) {
	text, err := jsonText(map[string]any{
		"command":              append([]string{"run", s.Plan}, args...),
		"resourceRequirements": []map[string]string{{"type": "MEMORY", "value": strconv.FormatInt(s.Memory, 10)}},
	})
	return phrase.Word(text), err
}

// taskVariables are the variables in which schedulers say which job of an array a process
// is, from 0 on.
var taskVariables = []string{"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX"}

// ownTask returns the number of the job of an array that this process is.
func ownTask() (string, error) {
	i := slices.IndexFunc(taskVariables, func(name string) bool { return os.Getenv(name) != "" })
	if i < 0 {
		return "", failure.BadUsage("--task auto: this is no job of an array: none of %s is set", strings.Join(taskVariables, ", "))
	}
	return os.Getenv(taskVariables[i]), nil
}
