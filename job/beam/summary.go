// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"context"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"varve.dev/zarr/check"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/transfer"
)

// Summary says what a publication has made.
type Summary struct {
	Plan string `json:"plan"` // its location
	ID   string `json:"id"`
	// Operation is that of the plan, or "" if it has arrays.
	Operation string `json:"operation"`
	// Changed is false if all was as wanted before, as it is when the publication is
	// repeated.
	Changed bool `json:"changed"`
	// Arrays are those that a plan rechunks. Of the others, one is set.
	Arrays     []Array     `json:"arrays,omitempty"`
	Manifest   *Manifest   `json:"manifest,omitempty"`
	Copy       *Copy       `json:"copy,omitempty"`
	Conversion *Conversion `json:"conversion,omitempty"`
	Check      *Check      `json:"check,omitempty"`
}

// Array is an array that was rechunked.
type Array struct {
	Operation string `json:"operation"`
	Node      string `json:"node"`
	Target    string `json:"target,omitempty"` // where a new array is, or ""
	Changed   bool   `json:"changed"`
	// Late is what the publication itself has stored, because sources had changed. The
	// records of tasks ([job.Status]) have the rest.
	Late rechunk.Counts `json:"late"`
}

// Manifest is a manifest that a scan has made.
type Manifest struct {
	Target string `json:"target"`
	Files  int    `json:"files"` // that were added
	Kept   int    `json:"kept"`  // of these, files that tasks have scanned
	// Refused are arrays that were left out, and Notes say what users should know.
	Refused []Refused `json:"refused"`
	Notes   []string  `json:"notes"`
}

// Refused is an array of a file that was left out.
type Refused struct {
	File   string `json:"file"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Copy is a node that was made equal to another one. Most values were copied by tasks.
type Copy struct {
	Target string `json:"target"`
	Arrays int    `json:"arrays"`
	Groups int    `json:"groups"`
	Copied int64  `json:"late"` // values that the publication itself has copied
	Kept   int64  `json:"kept"` // values that were there
	Left   int64  `json:"left"` // values of the target that the source does not have
}

// Conversion is a node that was made from one of another format.
type Conversion struct {
	Target string `json:"target"`
	Nodes  int    `json:"nodes"`
	Values int64  `json:"late"` // that the publication itself has written
	Kept   int64  `json:"kept"` // values that tasks have written
}

// Check is what a check has found.
type Check struct {
	Node   string `json:"node"`
	Arrays int64  `json:"arrays"`
	Chunks int64  `json:"chunks"`
	Bytes  int64  `json:"bytes"` // of stored chunks
	// Findings are the first of those that there are, at most 1,000.
	Findings []Finding `json:"findings"`
	All      int       `json:"all_findings"` // their number
	// Incomplete is the reason if a group could not be listed completely, or "".
	Incomplete string `json:"incomplete,omitempty"`
	// Checksums is set if the records of the tasks have checksums: varve run --publish
	// prints them.
	Checksums bool `json:"checksums"`
}

// Finding is what should be acted upon.
type Finding struct {
	Kind    string  `json:"kind"`
	Path    string  `json:"path"` // of the node, relative to the checked one
	Key     string  `json:"key,omitempty"`
	Chunk   []int64 `json:"chunk,omitempty"`
	Message string  `json:"message"`
	Repair  string  `json:"repair"`
}

func newSummary(p *job.Plan, r *job.Result) *Summary {
	s := &Summary{Plan: p.Location, ID: p.ID, Operation: p.Operation}
	for i, report := range r.Arrays {
		a := newArray(p.Arrays[i], report)
		s.Changed = s.Changed || a.Changed
		s.Arrays = append(s.Arrays, a)
	}
	switch {
	case r.Manifest != nil:
		s.Manifest = newManifest(*p.Target, r.Manifest)
		s.Changed = s.Manifest.Files > 0
	case r.Copy != nil:
		s.Copy = newCopy(*p.Target, r.Copy)
		s.Changed = r.Copy.Documents > 0 || s.Copy.Copied > 0
	case r.Conversion != nil:
		s.Conversion = newConversion(*p.Target, r.Conversion)
		s.Changed = s.Conversion.Values > 0
	case r.Check != nil:
		s.Check = newCheck(p.Node, r.Check)
		s.Changed = true // it tells about the present
	}
	return s
}

func newArray(w *job.Work, report *rechunk.Report) Array {
	a := Array{Operation: w.Operation, Node: w.Node}
	if w.Target != nil {
		a.Target = *w.Target
	}
	if report != nil {
		a.Changed, a.Late = report.Changed, report.Staged
	}
	return a
}

func newManifest(target string, m *job.Manifest) *Manifest {
	all := &Manifest{Target: target, Files: m.Files, Kept: m.Kept, Refused: []Refused{}, Notes: append([]string{}, m.Notes...)}
	for _, x := range m.Refused {
		all.Refused = append(all.Refused, Refused{x.File, x.Path, x.Err.Error()})
	}
	return all
}

func newCopy(target string, r *transfer.SyncReport) *Copy {
	return &Copy{Target: target, Arrays: r.Arrays, Groups: r.Groups, Copied: r.New + r.Replaced, Kept: r.Kept, Left: r.Left}
}

func newConversion(target string, r *convert.Conversion) *Conversion {
	return &Conversion{Target: target, Nodes: len(r.Nodes), Values: r.Values, Kept: r.Kept}
}

// mostFindings bounds [Check.Findings].
const mostFindings = 1000

func newCheck(node string, r *job.Checked) *Check {
	c := &Check{
		Node: node, Arrays: r.Checked.Arrays, Chunks: r.Checked.Chunks, Bytes: r.Checked.Bytes,
		Findings: []Finding{}, All: len(r.Findings), Checksums: r.Sums != nil,
	}
	if r.Incomplete != nil {
		c.Incomplete = r.Incomplete.Error()
	}
	for _, f := range r.Findings[:min(len(r.Findings), mostFindings)] {
		c.Findings = append(c.Findings, newFinding(f))
	}
	return c
}

func newFinding(f check.Finding) Finding {
	return Finding{Kind: string(f.Kind), Path: f.Path, Key: f.Key, Chunk: f.Chunk, Message: f.Message, Repair: f.Repair}
}

// Namespace is that of the metrics of workers: the counters "tasks", "bytes_read",
// "bytes_written", "requests" and "retries", and the distribution "task_ms", the
// milliseconds that a task took with its retries, also while it waited for another one of
// its process. An engine counts what it repeats once.
const Namespace = "varve"

var (
	tasks    = beam.NewCounter(Namespace, "tasks")
	read     = beam.NewCounter(Namespace, "bytes_read")
	written  = beam.NewCounter(Namespace, "bytes_written")
	requests = beam.NewCounter(Namespace, "requests")
	retries  = beam.NewCounter(Namespace, "retries")
	millis   = beam.NewDistribution(Namespace, "task_ms")
)

// count counts a task that is done.
func count(ctx context.Context, r *job.Record, took time.Duration) {
	tasks.Inc(ctx, 1)
	read.Inc(ctx, r.Read)
	written.Inc(ctx, r.Written)
	for _, n := range r.Requests {
		requests.Inc(ctx, n)
	}
	millis.Update(ctx, took.Milliseconds())
}
