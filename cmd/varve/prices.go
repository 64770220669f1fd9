// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/regrid"
)

// prices are what requests and bytes cost, as the file of --prices has it.
type prices struct {
	Currency string             `json:"currency"`
	Requests map[string]float64 `json:"per_1000_requests"`
	Read     float64            `json:"per_gib_read"`
}

// cost is what a plan costs.
type cost struct {
	Currency string  `json:"currency"`
	Requests float64 `json:"requests"`
	Read     float64 `json:"read"`
	Total    float64 `json:"total"`
}

// readPrices reads the file of --prices, if it is given.
func (r *regridding) readPrices(cmd *cobra.Command) (*prices, error) {
	if r.pricesFrom == "" {
		return nil, nil
	}
	raw, err := localfile.ReadAll(cmd, r.pricesFrom)
	if err != nil {
		return nil, err
	}
	p := new(prices)
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, failure.BadArgument("--prices %s: %w", r.pricesFrom, err)
	}
	known := requestsOf(regrid.Requests{})
	for kind, price := range p.Requests {
		if _, ok := known[kind]; !ok || price < 0 {
			return nil, failure.BadArgument("--prices %s: per_1000_requests has %q: %g; the kinds are get, head, put, copy and list", r.pricesFrom, kind, price)
		}
	}
	return p, nil
}

// of returns what a plan costs.
func (p *prices) of(plan *regrid.Plan) *cost {
	if p == nil {
		return nil
	}
	c := &cost{Currency: p.Currency, Read: p.Read * float64(plan.BytesRead) / (1 << 30)}
	for kind, n := range requestsOf(plan.Requests) {
		c.Requests += p.Requests[kind] * float64(n) / 1000
	}
	c.Total = c.Requests + c.Read
	return c
}

// requestsOf returns requests by the names of their kinds.
func requestsOf(r regrid.Requests) map[string]int64 {
	return map[string]int64{"get": r.Get, "head": r.Head, "put": r.Put, "copy": r.Copy, "list": r.List}
}

// print prints what the plan of an array costs.
func (c *cost) print(cmd *cobra.Command) error {
	if c == nil || session.WantsJSON(cmd) {
		return nil
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "  cost: %.4g %s (requests %.4g, bytes read %.4g)\n", c.Total, c.Currency, c.Requests, c.Read)
	return err
}
