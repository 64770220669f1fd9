// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strconv"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/transfer"
)

// sharedPlan is a plan file of copy, convert, check or virtualize: the plan that
// --dry-run --json prints, and what is wanted.
type sharedPlan struct {
	Version int    `json:"varve_plan"`
	ID      string `json:"id"`
	dryrun.Head
	dryrun.Counts
	Request json.RawMessage `json:"request"`
}

// writeShared writes a plan to the file of --plan.
func writeShared(cmd *cobra.Command, name string, head dryrun.Head, counts dryrun.Counts, request any) (err error) {
	p := sharedPlan{Version: job.Version, ID: newPlanID(), Head: head, Counts: counts}
	if p.Node = planLocation(cmd, p.Node); p.Target != nil {
		p.Target = new(planLocation(cmd, *p.Target))
	}
	if p.Request, err = json.Marshal(request); err != nil {
		return err
	}
	if p.Fingerprint, err = dryrun.Fingerprint(p.Request); err != nil {
		return err
	}
	return storePlan(cmd, name, p)
}

// printResult prints what a plan has made that is no rechunk.
func printResult(cmd *cobra.Command, plan *job.Plan, r *job.Result) error {
	switch {
	case r.Manifest != nil:
		return printManifest(cmd, withoutOptions(*plan.Target), r.Manifest)
	case r.Check != nil:
		return printChecked(cmd, plan, r.Check)
	case r.Copy != nil:
		return printCopied(cmd, plan, *r.Copy)
	}
	return printConverted(cmd, plan, *r.Conversion)
}

// printCopied prints what a copy has done in the end, as varve copy --sync does.
func printCopied(cmd *cobra.Command, plan *job.Plan, r transfer.SyncReport) error {
	var q job.Copy
	if err := json.Unmarshal(plan.Request, &q); err != nil {
		return err
	}
	s := newSynced(withoutOptions(plan.Node), withoutOptions(*plan.Target), q.Options(), r)
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, s)
	}
	return s.print(cmd.OutOrStdout())
}

// printConverted prints what a conversion has done, as varve convert does.
func printConverted(cmd *cobra.Command, plan *job.Plan, r convert.Conversion) error {
	var q job.Conversion
	if err := json.Unmarshal(plan.Request, &q); err != nil {
		return err
	}
	f := &convertFlags{to: strconv.Itoa(q.Format)}
	return f.printResult(cmd, withoutOptions(plan.Node), withoutOptions(*plan.Target), r)
}

// printManifest prints what a scan has made, as varve virtualize does.
func printManifest(cmd *cobra.Command, at string, m *job.Manifest) error {
	r := virtualized{Path: at, Files: m.Files, Arrays: []virtualizedArray{}, Left: []virtualizedRefuse{}, Notes: append([]string{}, m.Notes...), summary: m.Summary}
	r.Copied.Chunks, r.Copied.Bytes = m.Padded()
	for _, x := range m.Refused {
		r.Left = append(r.Left, virtualizedRefuse{x.File, x.Path, failure.OneLine(x.Err), x.Array, x.More})
	}
	r.describe(m.Manifest)
	return r.show(cmd)
}
