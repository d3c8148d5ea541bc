package config

// block describes a kind of block of the language: what it may hold.
type block struct {
	name   string
	label  string // what the label is, as the manual calls it; empty: the block has none and stands once
	inner  bool   // its name says nothing without the block around it
	args   []string
	blocks []*block
}

// sessionArgs are the arguments of a neighbor that a group may give to all of its
// neighbors.
var sessionArgs = []string{
	"as", "import", "export", "port", "passive", "hold_time", "max_prefixes",
	"password_file", "ttl_security", "multihop", "prepend",
}

var neighborBlock = &block{
	name: "neighbor", label: "ADDRESS",
	args: append([]string{"description"}, sessionArgs...),
}

var termBlock = &block{
	name: "term", label: "NAME", inner: true,
	args: []string{"then"},
	blocks: []*block{
		{name: "match", inner: true, args: []string{"prefix_list", "community"}},
		{name: "set", inner: true, args: []string{"local_pref", "med", "prepend", "add_community"}},
	},
}

// language is the whole file.
var language = &block{
	name: "routerd.conf",
	blocks: []*block{
		{name: "router", args: []string{"name", "as", "id"}},
		{name: "dataplane", args: []string{"cpus", "workers", "idle", "buffers"}},
		{name: "port", label: "NAME", args: []string{"description", "device", "queues", "mtu", "addresses"}},
		{name: "route", label: "PREFIX", args: []string{"action", "via", "distance"}},
		{name: "prefix_list", label: "NAME", args: []string{"prefixes"}},
		{name: "policy", label: "NAME", blocks: []*block{termBlock}},
		{name: "bgp", args: []string{"listen_port", "multipath", "graceful_restart"}, blocks: []*block{
			{name: "group", label: "NAME", args: sessionArgs, blocks: []*block{neighborBlock}},
			neighborBlock,
		}},
		{name: "control", blocks: []*block{
			{name: "socket", label: "PATH", args: []string{"group", "access"}},
		}},
	},
}

// child finds the kind of block called name inside b, nil where there is none.
func (b *block) child(name string) *block {
	for _, c := range b.blocks {
		if c.name == name {
			return c
		}
	}
	return nil
}

// blockNames lists the kinds of block that b may hold.
func (b *block) blockNames() []string {
	names := make([]string, len(b.blocks))
	for i, c := range b.blocks {
		names[i] = c.name
	}
	return names
}
