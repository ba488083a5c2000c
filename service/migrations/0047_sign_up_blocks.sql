-- Who may not sign up: an address, a domain with its subdomains, or `*` for everybody.
create table sign_up_blocks (
  pattern text collate "C" primary key check (pattern = lower(btrim(pattern)) and pattern <> ''),
  created_at timestamptz(3) not null default now()
);
