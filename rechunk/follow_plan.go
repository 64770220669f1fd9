// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/store"
)

// NewFollowPlan predicts what [Follow] would do, and changes nothing. Like Follow, it
// reads the chunks of the array that is followed whose versions have changed.
func NewFollowPlan(ctx context.Context, a *zarr.Array, r Rechunking, opt *Options) (*Plan, error) {
	s, err := newSession(a, r, opt)
	if err == nil && s.into == nil {
		err = errNowhere
	}
	if err != nil {
		return nil, s.Fail(following, err)
	}
	p, err := s.planFollow(ctx, a)
	return p, s.Fail(following, err)
}

// errNowhere is the error of a call that does not say which array follows.
var errNowhere = fmt.Errorf("%w: say where the array is that follows (Options.Into)", zarr.ErrInvalidArgument)

func (s *session) planFollow(ctx context.Context, a *zarr.Array) (*Plan, error) {
	found, err := tree.Format(ctx, s.at.Store, s.at.Path)
	if err != nil {
		return nil, err
	}
	if found == 0 {
		if err := s.checkFollowed(ctx); err != nil {
			return nil, err
		}
		return s.plan(ctx)
	}
	f, err := s.newFollower(ctx, a, false)
	if err != nil {
		return nil, err
	}
	var u *update
	err = f.again(ctx, func(ctx context.Context) (err error) {
		_, u, err = f.compare(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Request: bare(s.request), Operation: s.request.operation(), Fingerprint: following, Grid: u.next.Grid,
		Strategy: u.strategy, Guarantee: atomic, Space: Space{Free: -1}, Memory: f.memory(),
		Sources: int64(u.sources.Len()), BytesStored: u.sources.Bytes,
	}
	if p.State, err = stateOf(u.from); err != nil {
		return nil, err
	}
	p.State.addChunks(u.sources)
	if p.Changes = p.Strategy != relabels || u.described; !p.Changes {
		return p, nil
	}
	return p, u.predict(ctx, p)
}

// predict fills in a plan that stores chunks.
func (u *update) predict(ctx context.Context, p *Plan) error {
	list := &listing{source: pages(u.sources.Len())}
	list.compare()
	list.compare()
	if p.Strategy == flips {
		kept, err := staging.ListKeys(ctx, u.now)
		if err != nil {
			return err
		}
		p.Cloned = int64(kept.Len())
		_, p.Links = store.As[store.Cloner](u.f.at.Store)
		p.Requests.Copy = p.Cloned
		list.pages += 2 * pages(kept.Len())
	}
	read := map[int64]bool{} // chunks of the array that is followed
	for _, r := range u.regions {
		if err := u.predictRegion(p, r.box, read); err != nil {
			return err
		}
	}
	p.Requests.Get, p.Requests.Put, p.Requests.List = int64(len(read)), p.Encoded, list.pages
	p.Space.Likely = p.BytesEncoded
	p.Stages = []PlanStage{{Name: "stage", Tasks: int64(len(u.regions))}}
	return nil
}

// predictRegion adds the elements of a box.
func (u *update) predictRegion(p *Plan, box grid.Box, read map[int64]bool) error {
	chunks, err := u.next.Grid.Touched(box)
	if err != nil {
		return err
	}
	elements, _ := box.Len()
	stored, _ := chunks.Len()
	p.Add(Counts{Encoded: stored, BytesDecoded: product(elements, int64(u.from.Engine.Size)), BytesEncoded: product(elements, int64(u.from.Engine.Size))})
	sources, err := u.from.Grid.Touched(u.inSource(box))
	if err != nil {
		return err
	}
	add := func(index []int64) {
		if n := numberOf(u.from.Grid, index); !read[n] && u.sources.Has(index) {
			read[n] = true
			p.BytesRead += u.sources.Size(index)
		}
	}
	if n, ok := sources.Len(); ok && n <= int64(u.sources.Len()) {
		for index := range sources.Indices() {
			add(index)
		}
		return nil
	}
	for index := range u.sources.All() {
		if sources.Contains(index) {
			add(index)
		}
	}
	return nil
}
