// SPDX-License-Identifier: Apache-2.0

package rechunking

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/rechunk"
)

// PlanFile is a file that --plan writes and varve run executes. Which tasks there are
// follows from the requests, so it stays small for an array of any size.
type PlanFile struct {
	Version int `json:"varve_plan"`
	// ID tells it from other plans that were written to the same place.
	ID string `json:"id,omitempty"`
	// Group is the location of the group whose arrays one transaction changes, or "" if
	// each array is changed for itself. Alone is set if the arrays may then differ in
	// length from others of the group.
	Group  string     `json:"group,omitempty"`
	Alone  bool       `json:"alone,omitempty"`
	Arrays []*Planned `json:"arrays"`
}

// Planned is the plan for one array. Locations are absolute, so that it can be executed
// from any folder.
type Planned struct {
	Rechunked
	Request json.RawMessage `json:"request"`
	Memory  int64           `json:"memory"`
	Source  rechunk.State   `json:"source"`
	Inputs  *Inputs         `json:"inputs,omitempty"`
}

// newPlanned returns a plan as it is written to a file.
func newPlanned(cmd *cobra.Command, d *Rechunked) (*Planned, error) {
	raw, err := json.Marshal(d.Wanted)
	p := &Planned{Rechunked: *d, Request: raw, Memory: d.Plan.Memory, Source: d.Plan.State, Inputs: d.inputs}
	p.Node, p.Path = planfile.Location(cmd, p.Node), planfile.Absolute(p.Path)
	if p.Target != nil {
		p.Target = new(planfile.Location(cmd, *p.Target))
	}
	return p, err
}

// writePlan writes plans to the file of --plan.
func (r *Change) writePlan(cmd *cobra.Command, f PlanFile, list []*Rechunked) error {
	if r.PlanTo == "" {
		return nil
	}
	for _, d := range list {
		p, err := newPlanned(cmd, d)
		if err != nil {
			return err
		}
		f.Arrays = append(f.Arrays, p)
	}
	f.Version, f.ID = job.Version, planfile.NewID()
	return planfile.Store(cmd, r.PlanTo, f)
}

// ReadPlan reads a plan. The second result is nil unless it is one of rechunks.
func ReadPlan(cmd *cobra.Command, name string) (*job.Plan, *PlanFile, error) {
	raw, err := planfile.Read(cmd, name)
	if err != nil {
		return nil, nil, err
	}
	var kind struct {
		Version   int    `json:"varve_plan"`
		Operation string `json:"operation"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, nil, failure.BadArgument("%s is no plan: %w", name, err)
	}
	// A member that nobody reads means something else to its author.
	f := new(PlanFile)
	switch {
	case kind.Version != job.Version:
		err = failure.BadArgument("%s is no plan of this version of varve: varve_plan is %d, want %d", name, kind.Version, job.Version)
	case kind.Operation == "":
		err = planfile.Parse(name, raw, f)
	default:
		err, f = planfile.Parse(name, raw, new(planfile.Shared)), nil
	}
	if err != nil {
		return nil, nil, err
	}
	plan, err := job.Parse(raw)
	if err != nil {
		return nil, nil, failure.BadArgument("%s: %w", name, err)
	}
	if name != "-" {
		plan.Location = name
	}
	return plan, f, f.complete(name)
}

// complete checks what the command needs of a plan of rechunks, and parses the
// requests.
func (f *PlanFile) complete(name string) error {
	if f == nil {
		return nil
	}
	for i, p := range f.Arrays {
		if err := p.parse(f.Group); err != nil {
			return failure.BadArgument("%s: /arrays/%d: %w", name, i, err)
		}
	}
	return nil
}

// Member returns the name of the array in a group, or "" if it is in another place.
func (p *Planned) Member(group string) string {
	name, below := strings.CutPrefix(place.WithoutOptions(p.Node), node.Clean(place.WithoutOptions(group))+"/")
	if !below {
		return ""
	}
	return name
}

// parse checks what [job.Parse] has not, and parses the request.
func (p *Planned) parse(group string) (err error) {
	if group != "" && p.Member(group) == "" {
		return errors.New("the node is not in the group")
	}
	if p.Wanted, err = rechunk.ParseRequest(p.Operation, p.Request); err != nil {
		return err
	}
	if _, is := p.Wanted.(rechunk.Insertion); is && (p.Inputs == nil || len(p.Inputs.Files) == 0) {
		return errors.New("an insertion needs inputs")
	}
	return nil
}

// Load opens the files of an insertion, and completes it.
func (i *Inputs) Load(cmd *cobra.Command, a *zarr.Array, r rechunk.Insertion, memory int64) (rechunk.Insertion, *Inserted, error) {
	files, err := i.Names()
	if err != nil {
		return r, new(Inserted), err
	}
	in, err := OpenInserted(cmd, files, i.Format, a, r.Axis)
	if err != nil {
		return r, in, err
	}
	in.Give(&r)
	if !i.Hashed() {
		return r, in, nil
	}
	hashed := r
	hashed.Identity = ""
	now, err := rechunk.NewPlan(cmd.Context(), a, hashed, &rechunk.Options{Memory: memory})
	if err == nil && now.Request.(rechunk.Insertion).Identity != r.Identity {
		err = failure.OfKind(zarr.ErrConflict, "the arrays that are inserted have other elements than when the plan was made: make the plan again")
	}
	return r, in, err
}

// Load completes an insertion. Close the result also after an error.
func (p *Planned) Load(cmd *cobra.Command, a *zarr.Array) (in *Inserted, err error) {
	r, is := p.Wanted.(rechunk.Insertion)
	if !is {
		return new(Inserted), nil
	}
	p.Wanted, in, err = insertion(p.Inputs.Load(cmd, a, r, p.Memory))
	return in, err
}

// insertion returns an insertion as a request.
func insertion(r rechunk.Insertion, in *Inserted, err error) (rechunk.Request, *Inserted, error) {
	return r, in, err
}

// Done returns the result of a plan that is executed.
func (p *Planned) Done(report *rechunk.Report) *Rechunked {
	d := p.Rechunked
	d.DryRun = false
	d.ReplaceCounts(report)
	return &d
}
