// SPDX-License-Identifier: Apache-2.0

package observe

func (o Op) IsCodec() bool { return o.isCodec() }

func (o Op) Reads() bool { return o.reads() }

func (o Op) Writes() bool { return o.writes() }
