// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/sharing"
)

// PlanStages returns options whose requests cost as much as few bytes, so that small
// arrays are rechunked in several stages, too.
func (o Options) PlanStages(request int64) *Options {
	o.planning = &blocks.Options{Amplification: 1.01, Request: request}
	return &o
}

// Missing returns how many tasks of a stage are not done.
func Missing(ctx context.Context, a *zarr.Array, r Request, stage int, opt *Options) (int, error) {
	s, err := newSession(a, r, opt)
	if err != nil {
		return 0, err
	}
	if s.hold.claim, err = s.hold.at.Claim(ctx); err != nil {
		return 0, err
	}
	old, err := s.array.fresh(ctx)
	if err != nil {
		return 0, err
	}
	w, err := s.work(old)
	if err != nil {
		return 0, err
	}
	if s.ledger.records, err = loadRecords(ctx, s.hold.at, recordsOf(s.hold.at, s.hold.claim.ID), old.Grid.Rank(), s.opt.memory()); err != nil {
		return 0, err
	}
	plan, err := w.layout()
	if err != nil {
		return 0, err
	}
	levels, err := w.scratch(plan)
	if err == nil {
		err = w.load(ctx, levels)
	}
	if err == nil {
		err = w.listAll(ctx)
	}
	if err != nil {
		return 0, err
	}
	if stage == len(levels) {
		stale, err := w.stale()
		return len(stale), err
	}
	stale, err := w.staleIn(ctx, levels[stage])
	return len(stale), err
}

// What package job reaches by Tasks.
type (
	StageShare = sharing.Share
	Sharing    = participant
)

// ErrUnfinished is that of package sharing.
var ErrUnfinished = sharing.ErrUnfinished

// NewSharing is Tasks with the type of what it returns.
var NewSharing = newParticipant

// Publish publishes what other processes have made.
func Publish(ctx context.Context, a *zarr.Array, r Request, opt *Options) (*Report, error) {
	return execute(ctx, a, r, opt, true)
}

// Joined reports whether the process executes shares, so that nobody may publish.
func (p *participant) Joined() bool { return p.leave != nil }

// ShareOf returns the share that a block belongs to.
var ShareOf = shareOf

// Stage executes one share, as a process does that executes no other one.
func Stage(ctx context.Context, a *zarr.Array, r Request, share sharing.Share, opt *Options) (*Report, error) {
	p, err := newParticipant(a, r, opt)
	if err != nil {
		return new(Report), err
	}
	report, err := p.Do(ctx, share)
	return report, errors.Join(err, p.Leave())
}

// Add adds o to c.
func (c *Counts) Add(o Counts) { c.include(o) }
