// SPDX-License-Identifier: Apache-2.0

package checking

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
)

// sums are the digests and checksums that a check was asked for.
type sums struct {
	Digest  *string       `json:"digest,omitempty"`
	Digests []arrayDigest `json:"digests,omitempty"` // of the arrays below a group
	DANDI   *string       `json:"dandi,omitempty"`
}

// arrayDigest is the digest of an array at a path below a group.
type arrayDigest struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

// sums computes what the flags ask for. Of damaged nodes there is nothing to compute.
func (f *checkFlags) sums(cmd *cobra.Command, n zarr.Node, sound bool) (s sums, err error) {
	if !sound {
		if f.digest || f.dandi || f.list != "" {
			session.Note(cmd, n.Location().String(), "there are findings, so no digests and checksums were computed")
		}
		return s, nil
	}
	if f.digest {
		if s, err = digestsOf(cmd, n); err != nil {
			return s, err
		}
	}
	if f.list == "" && !f.dandi {
		return s, nil
	}
	report, err := f.writeChecksums(cmd, n)
	if err != nil {
		return s, err
	}
	if f.dandi {
		s.DANDI = &report.DANDI
	}
	if f.list != "" {
		session.Confirm(cmd, "wrote the checksums of %s, %s, to %s", phrase.Plural(report.Values, "value"), phrase.Bytes(report.Bytes), f.list)
	}
	return s, nil
}

// digestsOf returns the digests of a node and shows the progress.
func digestsOf(cmd *cobra.Command, n zarr.Node) (s sums, err error) {
	total := int64(0) // unknown for groups
	a, isArray := n.(*zarr.Array)
	if isArray {
		total, _ = grid.BoxOf(a.Shape()).Len()
	}
	p := progress.NewCount(cmd, "elements", total)
	defer p.End()
	opt := &zarr.DigestOptions{Progress: p.Add, Found: func(path, digest string) {
		s.Digests = append(s.Digests, arrayDigest{path, digest})
	}}
	var all string
	if isArray {
		all, err = a.Digest(cmd.Context(), opt)
	} else {
		all, err = n.(*zarr.Group).Digest(cmd.Context(), opt)
	}
	s.Digest = output.Present(all)
	return s, err
}

// write writes a line for each digest.
func (s sums) write(w *bufio.Writer, location string) {
	for _, a := range s.Digests {
		fmt.Fprintf(w, "%s  %s\n", a.Digest, phrase.Printable(a.Path))
	}
	if s.Digest != nil {
		fmt.Fprintf(w, "%s  %s\n", *s.Digest, phrase.Printable(location))
	}
	if s.DANDI != nil {
		fmt.Fprintf(w, "%s  %s\n", *s.DANDI, phrase.Printable(location))
	}
}
