package config

func (w *writer) policy(p Policy) {
	w.block("policy", p.Name, func() {
		for _, t := range p.Terms {
			w.block("term", t.Name, func() { w.term(t) })
		}
	})
}

func (w *writer) term(t Term) {
	if t.PrefixList != "" || len(t.Communities) > 0 {
		w.block("match", "", func() {
			w.str("prefix_list", t.PrefixList)
			w.list("community", communityTexts(t.Communities))
		})
	}
	if t.SetLocalPref != nil || t.SetMED != nil || t.Prepend > 0 || len(t.AddCommunity) > 0 {
		w.block("set", "", func() {
			w.optional("local_pref", t.SetLocalPref)
			w.optional("med", t.SetMED)
			w.number("prepend", t.Prepend, 0)
			w.list("add_community", communityTexts(t.AddCommunity))
		})
	}
	if t.Accept {
		w.str("then", "accept")
	} else {
		w.str("then", "reject")
	}
}

func (w *writer) bgp(b *BGP) {
	if b == nil {
		return
	}
	w.block("bgp", "", func() {
		w.number("listen_port", b.ListenPort, defaultBGPPort)
		w.number("multipath", b.Multipath, 1)
		w.seconds("graceful_restart", b.GracefulRestart, defaultGracefulRestart)
		for rest := b.Neighbors; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].Group == rest[0].Group {
				n++
			}
			w.neighbors(rest[0].Group, rest[:n])
			rest = rest[n:]
		}
	})
}

// neighbors writes neighbors of one group, or of none.
func (w *writer) neighbors(group string, list []Neighbor) {
	all := func() {
		for _, n := range list {
			w.block("neighbor", n.Address.String(), func() { w.neighbor(n) })
		}
	}
	if group == "" {
		all()
		return
	}
	w.block("group", group, all)
}

func (w *writer) neighbor(n Neighbor) {
	w.str("description", n.Description)
	w.number("as", int(n.AS), 0)
	w.str("import", n.Import)
	w.str("export", n.Export)
	w.number("port", n.Port, defaultBGPPort)
	w.flag("passive", n.Passive)
	w.seconds("hold_time", n.HoldTime, defaultHoldTime)
	w.number("max_prefixes", n.MaxPrefixes, 0)
	w.str("password_file", n.PasswordFile)
	w.flag("ttl_security", n.TTLSecurity)
	w.number("multihop", n.Multihop, 1)
	w.number("prepend", n.Prepend, 0)
}

func (w *writer) control(sockets []Socket) {
	standard := Socket{Path: DefaultSocket, Access: AccessFull}
	if len(sockets) == 0 || len(sockets) == 1 && sockets[0] == standard {
		return
	}
	w.block("control", "", func() {
		for _, s := range sockets {
			w.block("socket", s.Path, func() {
				w.str("group", s.Group)
				if s.Access != AccessFull {
					w.str("access", string(s.Access))
				}
			})
		}
	})
}
