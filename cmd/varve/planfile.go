// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/rechunk"
)

// planFile is a file that --plan writes and varve run executes. Which tasks there are
// follows from the requests, so it stays small for an array of any size.
type planFile struct {
	Version int `json:"varve_plan"`
	// ID tells it from other plans that were written to the same place.
	ID string `json:"id,omitempty"`
	// Group is the location of the group whose arrays one transaction changes, or "" if
	// each array is changed for itself. Alone is set if the arrays may then differ in
	// length from others of the group.
	Group  string     `json:"group,omitempty"`
	Alone  bool       `json:"alone,omitempty"`
	Arrays []*planned `json:"arrays"`
}

// planned is the plan for one array. Locations are absolute, so that it can be executed
// from any folder.
type planned struct {
	rechunked
	Request json.RawMessage `json:"request"`
	Memory  int64           `json:"memory"`
	Source  rechunk.State   `json:"source"`
	Inputs  *inputs         `json:"inputs,omitempty"`
}

// newPlanned returns a plan as it is written to a file.
func newPlanned(cmd *cobra.Command, d *rechunked) (*planned, error) {
	raw, err := json.Marshal(d.request)
	p := &planned{rechunked: *d, Request: raw, Memory: d.plan.Memory, Source: d.plan.State, Inputs: d.inputs}
	p.Node, p.Path = planfile.Location(cmd, p.Node), planfile.Absolute(p.Path)
	if p.Target != nil {
		p.Target = new(planfile.Location(cmd, *p.Target))
	}
	return p, err
}

// writePlan writes plans to the file of --plan.
func (r *gridChange) writePlan(cmd *cobra.Command, f planFile, list []*rechunked) error {
	if r.planTo == "" {
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
	return planfile.Store(cmd, r.planTo, f)
}

// readPlan reads a plan. The second result is nil unless it is one of rechunks.
func readPlan(cmd *cobra.Command, name string) (*job.Plan, *planFile, error) {
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
	f := new(planFile)
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
func (f *planFile) complete(name string) error {
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

// member returns the name of the array in a group, or "" if it is in another place.
func (p *planned) member(group string) string {
	name, below := strings.CutPrefix(place.WithoutOptions(p.Node), node.Clean(place.WithoutOptions(group))+"/")
	if !below {
		return ""
	}
	return name
}

// parse checks what [job.Parse] has not, and parses the request.
func (p *planned) parse(group string) (err error) {
	if group != "" && p.member(group) == "" {
		return errors.New("the node is not in the group")
	}
	if p.request, err = rechunk.ParseRequest(p.Operation, p.Request); err != nil {
		return err
	}
	if _, is := p.request.(rechunk.Insertion); is && (p.Inputs == nil || len(p.Inputs.Files) == 0) {
		return errors.New("an insertion needs inputs")
	}
	return nil
}
