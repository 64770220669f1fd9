// SPDX-License-Identifier: Apache-2.0

package dryrun

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Part is the plan of a part of a command that is not rehearsed, such as a rechunk
// after an append.
type Part struct {
	Head
	Counts
}

// partsKey is the key of the parts in the context of a command.
type partsKey struct{}

// withParts returns a context that collects the parts of a dry run.
func withParts(ctx context.Context) (context.Context, *[]Part) {
	list := new([]Part)
	return context.WithValue(ctx, partsKey{}, list), list
}

// Also sets the parts of a dry run that are planned and not rehearsed. It replaces those
// of an earlier attempt. Without a dry run it does nothing.
func Also(cmd *cobra.Command, parts ...Part) {
	if list, ok := cmd.Context().Value(partsKey{}).(*[]Part); ok {
		*list = parts
	}
}

// include adds the counts of a part to the plan. h gets its fingerprint.
func (p *planFacts) include(part Part, h io.Writer) {
	fmt.Fprintf(h, "%s %s\n", part.Operation, part.Fingerprint)
	c := part.Counts
	for _, sum := range []struct{ all, more *int64 }{
		{p.New, c.New}, {p.Rewritten, c.Rewritten}, {p.Copied, c.Copied}, {p.Dropped, c.Dropped}, {p.Documents, c.Documents},
		{p.BytesRead, c.BytesRead}, {p.BytesCopied, c.BytesCopied}, {p.BytesDecoded, c.BytesDecoded}, {p.BytesEncoded, c.BytesEncoded},
		{p.BytesWritten, c.BytesWritten}, {p.BytesDropped, c.BytesDropped},
	} {
		if sum.more != nil {
			*sum.all += *sum.more
		}
	}
	p.Linked, p.BytesLinked = p.Linked+c.Linked, p.BytesLinked+c.BytesLinked
	for name, n := range c.Requests {
		p.Requests[name] += n
	}
	// Parts run one after another, so the largest counts.
	if c.PeakMemory != nil && (p.PeakMemory == nil || *c.PeakMemory > *p.PeakMemory) {
		p.PeakMemory = c.PeakMemory
	}
}
