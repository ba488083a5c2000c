-- A link from before that creates an account must not reset one that was created after it.
delete from password_links l using users u
where l.creates_account is null and u.email = l.email and u.created_at > l.expires_at - interval '1 hour';
update password_links set creates_account = not exists (select from users where users.email = password_links.email)
where creates_account is null;
