// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/rechunk"
)

// Prices are what requests and bytes cost, as the file of --prices has it.
type Prices struct {
	Currency string             `json:"currency"`
	Requests map[string]float64 `json:"per_1000_requests"`
	Read     float64            `json:"per_gib_read"`
}

// Cost is what a plan costs.
type Cost struct {
	Currency string  `json:"currency"`
	Requests float64 `json:"requests"`
	Read     float64 `json:"read"`
	Total    float64 `json:"total"`
}

// PricesFlag adds the flag --prices.
func PricesFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "prices", "", "say what the plan costs, given a `FILE` of prices")
}

// ReadPrices reads the file of --prices, if it is given.
func ReadPrices(cmd *cobra.Command, file string) (*Prices, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := localfile.ReadAll(cmd, file)
	if err != nil {
		return nil, err
	}
	p := new(Prices)
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, failure.BadArgument("--prices %s: %w", file, err)
	}
	known := RequestsOf(rechunk.Requests{})
	for kind, price := range p.Requests {
		if _, ok := known[kind]; !ok || price < 0 {
			return nil, failure.BadArgument("--prices %s: per_1000_requests has %q: %g; the kinds are get, head, put, copy and list", file, kind, price)
		}
	}
	return p, nil
}

// Of returns what a plan costs.
func (p *Prices) Of(plan *rechunk.Plan) *Cost {
	if p == nil {
		return nil
	}
	return p.Cost(RequestsOf(plan.Requests), plan.BytesRead)
}

// Cost returns what requests and reading bytes cost, or nil if p is nil.
func (p *Prices) Cost(requests map[string]int64, read int64) *Cost {
	if p == nil {
		return nil
	}
	c := &Cost{Currency: p.Currency, Read: p.Read * float64(read) / (1 << 30)}
	for kind, n := range requests {
		c.Requests += p.Requests[kind] * float64(n) / 1000
	}
	c.Total = c.Requests + c.Read
	return c
}

// RequestsOf returns requests by the names of their kinds.
func RequestsOf(r rechunk.Requests) map[string]int64 {
	return map[string]int64{"get": r.Get, "head": r.Head, "put": r.Put, "copy": r.Copy, "list": r.List}
}

// Print prints what the plan of an array costs.
func (c *Cost) Print(cmd *cobra.Command) error {
	if c == nil || session.WantsJSON(cmd) {
		return nil
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "  cost: %.4g %s (requests %.4g, bytes read %.4g)\n", c.Total, c.Currency, c.Requests, c.Read)
	return err
}
