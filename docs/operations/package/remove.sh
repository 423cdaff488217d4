#!/bin/sh
# Runs before removing, and before upgrading, which stops no service.
case "$1" in
remove | 0) [ ! -d /run/systemd/system ] || systemctl disable --now uidring.service ;;
esac
