// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strconv"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/transfer"
)

// printResult prints what a plan has made that is no rechunk.
func printResult(cmd *cobra.Command, plan *job.Plan, r *job.Result) error {
	switch {
	case r.Manifest != nil:
		return printManifest(cmd, place.WithoutOptions(*plan.Target), r.Manifest)
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
	s := newSynced(place.WithoutOptions(plan.Node), place.WithoutOptions(*plan.Target), q.Options(), r)
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
	return f.printResult(cmd, place.WithoutOptions(plan.Node), place.WithoutOptions(*plan.Target), r)
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
